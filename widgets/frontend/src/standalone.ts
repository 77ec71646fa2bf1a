/** The script of a standalone page, and of the site. */
import { render } from "./index";
import { Lesson } from "./lesson/lesson";
import { play } from "./player";

play(render, (place) => new Lesson(place));
