/** The script of a page of its own, and of the site. */
import { render } from "./index";
import { play } from "./player";

play(render);
