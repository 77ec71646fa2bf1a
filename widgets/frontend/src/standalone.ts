/** The script of a page of its own, and of the site. */
import { render } from "./index";
import { Lesson } from "./lesson/lesson";
import { play } from "./player";

play(render, (place) => new Lesson(place));
